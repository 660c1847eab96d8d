// Exports of this folder for tests. Sources import the files directly.
export { install, type Services, status, uninstall } from './handlers.ts'
export { launchdPlist } from './launchd-plist.ts'
export { installOptions, serviceOptions } from './options.ts'
export { MARK, type ServiceSpec } from './service.ts'
export type { Ran, System } from './system.ts'
export { systemdUnit } from './systemd-unit.ts'
