// Exports of this folder for tests. Sources import the files directly.
export { formatAddress, parseAddress } from './address.ts'
export { claim, release } from './claim.ts'
export { LimitedLog } from './limited-log.ts'
export { assertFree, holdRepository, ownState, removeStateFile } from './state-file.ts'
