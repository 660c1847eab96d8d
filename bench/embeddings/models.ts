import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, rename, rm, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { root, scratch } from '../inference/peers.ts'
import { isSmoke } from '../smoke-mode.ts'
import { python } from './contestant.ts'

const FIXTURES = resolve(root, 'plugins/inference-onnx/test/fixtures/embeddings')

/** Folders of the models of the comparison. */
export interface EmbeddingModels {
  readonly safetensors: string
  /** The same weights as `onnx/model.onnx`. */
  readonly exported: string
  readonly static: string
}

/**
 * Returns the models: the shape of all-MiniLM-L6-v2, and a model2vec table of 30,522 rows of 256 numbers, with random
 * weights. Python writes them on the first run. A smoke run uses tiny models of the tests.
 *
 * @param texts - Texts on which the vocabulary is trained.
 */
export async function embeddingModels(texts: readonly string[]): Promise<EmbeddingModels> {
  const at = (folder: string) => ({
    safetensors: join(folder, isSmoke ? 'bert' : 'safetensors'),
    exported: join(folder, 'exported'),
    static: join(folder, 'static')
  })
  if (isSmoke) return at(FIXTURES)
  const folder = join(scratch, 'models', 'random-minilm')
  if (existsSync(folder)) return at(folder)
  if (python === null) throw new Error('SVC_BENCH_PYTHON must name a Python interpreter with torch and transformers')
  const [source, unfinished] = [`${folder}.json`, `${folder}.unfinished`]
  await mkdir(join(scratch, 'models'), { recursive: true })
  await rm(unfinished, { recursive: true, force: true })
  await writeFile(source, JSON.stringify(texts))
  await promisify(execFile)(python, [fileURLToPath(new URL('./model.py', import.meta.url)), unfinished, source])
  await rename(unfinished, folder)
  return at(folder)
}
