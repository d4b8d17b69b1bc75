//! `unflake history`: campaigns on record, and how one test fared in them.

pub mod json;
pub mod text;

use unflake_known::PastCampaign;

/// How a campaign ended, in a word.
fn ended(campaign: &PastCampaign) -> &str {
    campaign.ended.as_deref().unwrap_or("unfinished")
}
