//! Values as columns hold them.

use rusqlite::Row;
use rusqlite::types::Type;

use crate::campaign::CampaignId;

/// A count, as a column holds it.
pub(crate) fn integer(count: usize) -> i64 {
    i64::try_from(count).expect("counts of things in memory fit 63 bits")
}

/// The name of a campaign, read from a column.
pub(crate) fn campaign_id(row: &Row<'_>, column: usize) -> rusqlite::Result<CampaignId> {
    let name: String = row.get(column)?;
    CampaignId::from_name(&name).ok_or_else(|| {
        let cause = format!("`{name}` is not the name of a campaign").into();
        rusqlite::Error::FromSqlConversionFailure(column, Type::Text, cause)
    })
}
