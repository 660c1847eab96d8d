import { existsSync } from 'node:fs'
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Quantization } from '@svc/contracts'
import { exportForPeer } from './export.ts'
import { type GgufType, writeGguf } from './gguf.ts'
import { bundledModel, scratch } from './peers.ts'
import { halfBillionShape, writeRandomModel } from './random-model.ts'

/**
 * The model that engines and servers are compared on: the shape of Qwen2.5-0.5B with random weights, in the format of each
 * engine. Made on the first run.
 */
const folder = join(scratch, 'models', 'random-494M-words')
export const vocabulary = halfBillionShape.vocabulary

/**
 * The run directory, BF16. Every token has a text, so that servers have something to send for it, and none ends an answer,
 * so that all answers are as long as they may be.
 */
export async function halfBillionModel(): Promise<string> {
  await once('run', async target => {
    await writeRandomModel(target, bundledModel, halfBillionShape, 'BF16')
    for (const name of ['tokenizer.json', 'tokenizer_config.json']) {
      const text = (await readFile(join(target, name), 'utf8')).replaceAll('<|im_end|>', '<|turn|>')
      const content = JSON.parse(text)
      if (name === 'tokenizer.json') {
        const known = Object.keys(content.model.vocab).length
        for (let id = known; id < vocabulary; id++) content.model.vocab[word(id)] = id
        // Else words would have to be merged from their letters.
        content.model.ignore_merges = true
      } else content.eos_token = null
      await writeFile(join(target, name), JSON.stringify(content))
    }
  })
  return join(folder, 'run')
}

/** A file for llama.cpp. */
export async function halfBillionGguf(type: GgufType): Promise<string> {
  const name = `${type.replace(' ', '-')}.gguf`
  const model = await halfBillionModel()
  await once(name, target => writeGguf(model, target, type))
  return join(folder, name)
}

/** An export for transformers.js. */
export async function halfBillionExport(quantization: Quantization): Promise<string> {
  const name = `export-${quantization}`
  const model = await halfBillionModel()
  await once(name, target => exportForPeer(model, target, quantization))
  return join(folder, name)
}

/** A space, which is written Ġ, and letters; a text of such words is read as the tokens that it was written from. */
function word(id: number): string {
  return `Ġq${String(id).replaceAll(/\d/g, digit => 'abcdefghij'.charAt(Number(digit)))}`
}

/** What was not finished is made anew. */
async function once(name: string, make: (target: string) => Promise<void>): Promise<void> {
  if (existsSync(join(folder, name))) return
  const unfinished = join(folder, `${name}.unfinished`)
  await rm(unfinished, { recursive: true, force: true })
  await mkdir(folder, { recursive: true })
  await make(unfinished)
  await rename(unfinished, join(folder, name))
}
