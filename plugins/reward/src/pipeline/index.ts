// Exports of this folder for tests. Sources import the files directly.
export { Engine } from './engine.ts'
export { concealed, validateEvent } from './event.ts'
export { EventQueue } from './event-queue.ts'
export { EventSpool, userFolder } from './event-spool.ts'
export { Occurrences } from './occurrences.ts'
export { type Policy, processEvent } from './process.ts'
