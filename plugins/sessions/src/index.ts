// Exports of this folder for tests. Sources import the files directly.
export { checkedJourney } from './journey.ts'
export { isStorable, storable } from './json-bounds.ts'
export type { Settings } from './settings.ts'
