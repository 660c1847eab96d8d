// Exports of this folder for tests. Sources import the files directly.
export { liveRef, ServiceContainer } from './container.ts'
export { kernelErrors } from './errors.ts'
export { resolveGraph } from './graph.ts'
export { type DeclaredHooks, HookSet, type OwnedTap } from './hooks.ts'
export { Keep } from './keep.ts'
export { Lifecycle, SERVING, TRANSITIONS } from './lifecycle.ts'
export { type Fingerprinted, planChange, type RunningUnit } from './plan.ts'
export { Scope } from './scope.ts'
