"""What the page shows of the reports: one file per subject."""
