// Exports of this folder for tests. Sources import the files directly.
export { callbackAddresses } from './push/callback-address.ts'
export { deadNotifications, retryNotification } from './push/operations.ts'
export { sendCallback } from './push/send-callback.ts'
export { decodeEvent, encodeEvent, type KeyedEvent, type LoggedEvent, type TaskEvent } from './tasks/event.ts'
export { taskIdOf } from './tasks/ids.ts'
export { snapshotOf, streamed, taskOf } from './tasks/snapshot.ts'
export { hasEnded } from './tasks/states.ts'
