import { existsSync } from 'node:fs'
import { mkdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Quantization } from '@svc/contracts'
import { isSmoke } from '../smoke-mode.ts'
import { exportForPeer } from './export.ts'
import { type GgufType, writeGguf } from './gguf.ts'
import { bundledModel, scratch } from './peers.ts'
import { halfBillionShape, writeRandomModel } from './random-model.ts'

/**
 * Vocabulary size of the bundled model. The functions below return the model that engines and servers are compared on:
 * the shape of Qwen2.5-0.5B with random weights, in the format of each engine. It is written on the first run.
 */
const BUNDLED_VOCABULARY = 2048
const folder = join(scratch, 'models', isSmoke ? 'bundled' : 'random-494M-words')
export const vocabulary = isSmoke ? BUNDLED_VOCABULARY : halfBillionShape.vocabulary

/** Returns the run directory, in BF16. A smoke run uses the bundled model. */
export async function halfBillionModel(): Promise<string> {
  if (isSmoke) return bundledModel
  await once('run', target => writeRandomModel(target, bundledModel, halfBillionShape, 'BF16'))
  return join(folder, 'run')
}

/** Returns the GGUF file. */
export async function halfBillionGguf(type: GgufType): Promise<string> {
  const name = `${type.replace(' ', '-')}.gguf`
  const model = await halfBillionModel()
  await once(name, target => writeGguf(model, target, type))
  return join(folder, name)
}

/** Returns the export for transformers.js. */
export async function halfBillionExport(quantization: Quantization): Promise<string> {
  const name = `export-${quantization}`
  const model = await halfBillionModel()
  await once(name, target => exportForPeer(model, target, quantization))
  return join(folder, name)
}

/** Writes a target unless it exists. An incomplete target is written again. */
async function once(name: string, make: (target: string) => Promise<void>): Promise<void> {
  if (existsSync(join(folder, name))) return
  const unfinished = join(folder, `${name}.unfinished`)
  await rm(unfinished, { recursive: true, force: true })
  await mkdir(folder, { recursive: true })
  await make(unfinished)
  await rename(unfinished, join(folder, name))
}
