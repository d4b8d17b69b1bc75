//! Rows of a data file, by the names of their columns, with errors that say where.

use std::fs;
use std::path::Path;
use std::str::FromStr;

use csv::{ReaderBuilder, StringRecord};

/// A file of comma-separated values with a head line.
pub(super) struct DataFile {
    name: String,
    head: StringRecord,
    /// The records, each with the line on which it starts.
    records: Vec<(u64, StringRecord)>,
}

/// One line of the file.
#[derive(Clone, Copy)]
pub(super) struct Row<'a> {
    file: &'a DataFile,
    line: u64,
    record: &'a StringRecord,
}

impl DataFile {
    /// Reads the file with this name in the folder.
    pub(super) fn open(folder: &Path, name: &str) -> Result<Self, String> {
        let path = folder.join(name);
        let shown = path.display().to_string();
        let text =
            fs::read_to_string(&path).map_err(|error| format!("cannot read `{shown}`: {error}"))?;
        Self::parse(&shown, &text)
    }

    pub(super) fn parse(name: &str, text: &str) -> Result<Self, String> {
        // The message of the reader includes the line.
        let refused = |error: csv::Error| format!("cannot read `{name}`: {error}");
        // The reader is one line short for each line end of two characters.
        let text = text.replace("\r\n", "\n");
        let mut reader = ReaderBuilder::new().from_reader(text.as_bytes());
        let head = reader.headers().map_err(refused)?.clone();
        let mut records = Vec::new();
        for record in reader.records() {
            let record = record.map_err(refused)?;
            records.push((record.position().map_or(0, csv::Position::line), record));
        }
        if records.is_empty() {
            return Err(format!("`{name}` has no rows"));
        }
        Ok(Self { name: name.into(), head, records })
    }

    pub(super) fn rows(&self) -> impl Iterator<Item = Row<'_>> {
        self.records.iter().map(|(line, record)| Row { file: self, line: *line, record })
    }
}

impl<'a> Row<'a> {
    /// The value in a column; may be empty.
    pub(super) fn text(self, column: &str) -> Result<&'a str, String> {
        let index = self.file.head.iter().position(|name| name == column);
        index
            .and_then(|index| self.record.get(index))
            .map(str::trim)
            .ok_or_else(|| format!("`{}` has no column `{column}`", self.file.name))
    }

    /// The value in a column, which must not be empty.
    pub(super) fn name(self, column: &str) -> Result<&'a str, String> {
        match self.text(column)? {
            "" => Err(self.fault(column, "must not be empty")),
            text => Ok(text),
        }
    }

    /// The value in a column, as anything that can be parsed; `what` names it in errors.
    pub(super) fn parsed<T: FromStr>(self, column: &str, what: &str) -> Result<T, String> {
        self.text(column)?.parse().map_err(|_| self.fault(column, &format!("is not {what}")))
    }

    /// A message that the value in a column is invalid.
    pub(super) fn fault(self, column: &str, complaint: &str) -> String {
        let Self { file, line, .. } = self;
        let value = self.text(column).unwrap_or_default();
        format!("`{}` line {line}: `{value}` in column `{column}` {complaint}", file.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(text: &str) -> Result<DataFile, String> {
        DataFile::parse("x.csv", text)
    }

    #[test]
    fn a_bad_value_is_named_with_file_line_and_column() {
        let file = file("a,b\n1,2\n3,\"x\ny\"\n5,many\n").unwrap();
        let row = file.rows().last().unwrap();
        assert_eq!(row.parsed::<u64>("a", "a count"), Ok(5));
        assert_eq!(
            row.parsed::<u64>("b", "a count").unwrap_err(),
            "`x.csv` line 5: `many` in column `b` is not a count"
        );
        assert_eq!(row.text("c").unwrap_err(), "`x.csv` has no column `c`");
    }

    #[test]
    fn lines_are_counted_alike_however_they_end() {
        let lines = |text: &str| file(text).unwrap().rows().map(|row| row.line).collect::<Vec<_>>();
        assert_eq!(lines("a,b\n1,2\n3,4\n"), [2, 3]);
        assert_eq!(lines("a,b\r\n1,2\r\n3,4\r\n"), [2, 3]);
    }

    #[test]
    fn an_empty_name_is_refused() {
        let file = file("a,b\n1, \n").unwrap();
        let row = file.rows().next().unwrap();
        assert_eq!(row.text("b"), Ok(""));
        assert_eq!(
            row.name("b").unwrap_err(),
            "`x.csv` line 2: `` in column `b` must not be empty"
        );
    }

    #[test]
    fn a_ragged_row_and_an_empty_file_are_refused() {
        let error = file("a,b\n1,2\n3\n").map(|_| ()).unwrap_err();
        assert!(error.starts_with("cannot read `x.csv`") && error.contains("line: 3"), "{error}");
        assert_eq!(file("a,b\n").map(|_| ()).unwrap_err(), "`x.csv` has no rows");
    }

    #[test]
    fn a_missing_file_is_named() {
        let error = DataFile::open(Path::new("/nowhere"), "x.csv").map(|_| ()).unwrap_err();
        assert!(error.starts_with("cannot read `/nowhere/x.csv`: "), "{error}");
    }
}
