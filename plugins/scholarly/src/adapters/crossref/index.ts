export { CROSSREF_SECRETS, type CrossrefOptions, crossrefDeposit } from './adapter.ts'
export { parseDiagnostic } from './diagnostic.ts'
export { type DepositParty, depositDocument, depositOf } from './document.ts'
export { nextTimestamp } from './timestamps.ts'
