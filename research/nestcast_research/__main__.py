"""Trains one model of the research: python -m nestcast_research SETTINGS.toml --data DATA --out RUN."""

from nestcast_train.train import main

if __name__ == "__main__":
    main()
