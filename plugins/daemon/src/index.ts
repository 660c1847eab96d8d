// Exports of this folder for tests. Sources import the files directly.

export { claim, release } from '@svc/contracts/claim-file'
export { formatAddress, parseAddress } from './address.ts'
export { LimitedLog } from './limited-log.ts'
export { assertFree, holdRepository, ownState, removeStateFile } from './state-file.ts'
