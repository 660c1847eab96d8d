// Exports of this folder for tests. Sources import the files directly.
export { DiskBlobs } from './disk-blobs.ts'
export { rangeOf } from './download-route.ts'
export { safeName } from './file-info.ts'
export { FileStorage } from './file-storage.ts'
export { filesStatements } from './file-tables.ts'
export { FileUrls } from './file-urls.ts'
export { Staging } from './staging.ts'
