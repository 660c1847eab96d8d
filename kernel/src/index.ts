export { Kernel, type KernelOptions, type PluginConfiguration } from './kernel.ts'
export { createLogger, type KernelLogger } from './log.ts'
export { inlineSource, type PluginSource } from './source.ts'
