// Exports of this folder for tests. Sources import the files directly.
export { DurableInbox, type DurableMessage } from './durable-inbox.ts'
export { defaultIdempotencyKey, fnv1a64 } from './idempotency-key.ts'
export { LocalBus, type LocalMessage } from './local-bus.ts'
export {
  a2aAck,
  a2aBroadcast,
  a2aDead,
  a2aExtend,
  a2aHistory,
  a2aInbox,
  a2aMessages,
  a2aNack,
  a2aRevive,
  a2aSend,
  a2aTasks,
  a2aWatch
} from './operations.ts'
export { Planes } from './planes.ts'
