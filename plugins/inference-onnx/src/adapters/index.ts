// Exports of this folder for tests. Sources import the files directly.
export { readAdapterDirectory } from './adapter-directory.ts'
export { readFactors } from './factors.ts'
export { openToAdapters } from './sites.ts'
