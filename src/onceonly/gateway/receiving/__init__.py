"""The receiving side: from a partner's package to the application's inbox, and what is answered."""
