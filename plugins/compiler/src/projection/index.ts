// Exports of this folder for tests. Sources import the files directly.
export { hostProbe } from './host-probe.ts'
export { runtimeProjection } from './runtime-projection.ts'
