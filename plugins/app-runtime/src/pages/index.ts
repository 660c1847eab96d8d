// Exports of this folder for tests. Sources import the files directly.
export { DevChannel, type DevMessage } from './dev-channel.ts'
export { withElement } from './html.ts'
export { failedCall, type PageProblem } from './page-problem.ts'
export { routeList } from './route-list.ts'
