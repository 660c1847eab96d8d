// Exports of this folder for tests. Sources import the files directly.
export { type RecordKind, StateChanges } from './changes.ts'
export type {
  AgentLoad,
  GateOutcome,
  MovableTask,
  RebalanceWorld,
  Restorable,
  RoutableAgent,
  RouteDecision,
  TaskToRoute
} from './ports.ts'
export { Records } from './records.ts'
export { allows, hasEnded, transitions } from './status.ts'
export { countOf, restoreTask, serialiseTask, type Task, taskView, taskWeight } from './task.ts'
export type { World } from './world.ts'
