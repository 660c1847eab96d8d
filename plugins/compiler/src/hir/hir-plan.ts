export type { HirDbCapabilities, HirDbOperator, HirDbPlan, HirPredicate } from '@svc/contracts'
