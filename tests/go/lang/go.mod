module lang-oracle

go 1.26

require (
	github.com/PaesslerAG/jsonpath v0.1.1
	github.com/robfig/cron/v3 v3.0.1
	github.com/tidwall/gjson v1.18.0
)

require (
	github.com/PaesslerAG/gval v1.2.4 // indirect
	github.com/shopspring/decimal v1.3.1 // indirect
	github.com/tidwall/match v1.1.1 // indirect
	github.com/tidwall/pretty v1.2.0 // indirect
)
