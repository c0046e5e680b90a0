"""The pages: server-rendered HTML over the calls that the API makes."""
