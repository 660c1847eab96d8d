// Public entry of this folder for tests. Source files import the modules directly.
export { hostProbe } from './host-probe.ts'
export { runtimeProjection } from './runtime-projection.ts'
