// Exports of this folder for tests. Sources import the files directly.
export { Channel, type Exchange, type Handlers } from './channel.ts'
export { decodeError, encodeError } from './remote-error.ts'
export { allowedEnvironment, packageFolders, permissionFlags } from './sandbox.ts'
export { isolationHosts } from './unit-host.ts'
export { Watchdog } from './watchdog.ts'
