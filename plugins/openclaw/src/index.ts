// Exports of this folder for tests. Sources import the files directly.
export { ControlConnection } from './control-connection.ts'
export { Discovery } from './discovery.ts'
export { OpenClawGateway } from './gateway.ts'
export type { Settings } from './settings.ts'
export { encodedSlug } from './skills-api.ts'
export { readWellKnown } from './well-known.ts'
