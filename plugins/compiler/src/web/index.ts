// Exports of this folder for tests. Sources import the files directly.

export { webTreeOf } from '../react/web-tree.ts'
export { type ComponentOptions, emitComponents } from './components/emit-components.ts'
export { type WebGenerationSettings, webGeneration } from './components/web-generation.ts'
export { emitProject, type ProjectOptions } from './emit-project.ts'
export { v0Health } from './v0-health.ts'
export { type WebModule, webModule } from './web-module.ts'
