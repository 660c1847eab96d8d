// Exports of this folder for tests. Sources import the files directly.
export { joinExpositions } from './exposition.ts'
export { Guard } from './guard.ts'
export type { Route } from './route.ts'
export { RouteTable } from './route-table.ts'
