// Exports of this folder for tests. Sources import the files directly.
export { OtherSeats } from '../durable/other-seats.ts'
export { JoinedTasks } from './repository-tasks.ts'
export { seatSource } from './seat-source.ts'
export { parseMessage, SeatVerbs, type SeatVerbsOptions } from './seat-verbs.ts'
