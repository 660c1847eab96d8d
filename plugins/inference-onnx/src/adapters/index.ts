// The face of this folder for tests. Sources import the files.
export { readAdapterDirectory } from './adapter-directory.ts'
export { readFactors } from './factors.ts'
export { openToAdapters } from './sites.ts'
