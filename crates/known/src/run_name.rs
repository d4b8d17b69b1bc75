//! How runs on record are named.

use std::fmt;
use std::str::FromStr;

use unflake_model::RunId;

/// A run as reports name it: `3f2a91/7`, or `7` for a run of the last campaign.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunName {
    /// The beginning of the campaign's name, or `latest`.
    pub campaign: String,
    /// The number of the run.
    pub run: RunId,
}

/// The text is not the name of a run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` names no run; give CAMPAIGN/NUMBER, or NUMBER for the last campaign")]
pub struct InvalidRunName(String);

impl FromStr for RunName {
    type Err = InvalidRunName;

    fn from_str(text: &str) -> Result<Self, InvalidRunName> {
        let (campaign, number) = text.split_once('/').unwrap_or(("latest", text));
        let run = number.parse().map(RunId).map_err(|_| InvalidRunName(text.to_owned()))?;
        if campaign.is_empty() {
            return Err(InvalidRunName(text.to_owned()));
        }
        Ok(Self { campaign: campaign.to_owned(), run })
    }
}

impl fmt::Display for RunName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.campaign, self.run.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_named_as_reports_spell_them() {
        let name = |text: &str| text.parse::<RunName>();
        assert_eq!(name("3f2a91/7").unwrap().to_string(), "3f2a91/7");
        assert_eq!(name("7").unwrap().to_string(), "latest/7");
        for text in ["", "x", "3f2a91", "3f2a91/", "/7", "3f2a91/x", "a/b/7"] {
            let error = name(text).unwrap_err().to_string();
            assert!(error.starts_with(&format!("`{text}` names no run")), "{error}");
        }
    }
}
