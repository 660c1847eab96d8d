// The face of this folder for tests. Sources import the files.
export { checkedJourney } from './journey.ts'
export { isStorable, storable } from './json-bounds.ts'
export type { Settings } from './settings.ts'
