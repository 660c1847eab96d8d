import { readFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { isAbsolute, join, resolve } from 'node:path'
import { type FoundModel, findModel } from './whisper/model-files.ts'

export interface ModelLocation {
  /** The setting `model`: a folder or a name. */
  readonly model: string
  readonly revision: string
  readonly projectRoot: string
  /** Absolute. */
  readonly modelsDirectory: string
  readonly environment: NodeJS.ProcessEnv
}

/** Matches `OWNER/NAME`, without path traversal. */
export const MODEL_NAME = /^[A-Za-z0-9][\w.-]*\/[A-Za-z0-9][\w.-]*$/

/**
 * Finds the files of a model. A name is searched in the directory of models, as a folder of the project, and in the cache
 * of Hugging Face; the name of an OpenAI checkpoint also finds its ONNX exports. Other values are paths of folders. If no
 * candidate is complete, returns the one with the fewest missing files.
 */
export async function locateModel(location: ModelLocation): Promise<FoundModel> {
  const folders = await candidates(location)
  let best: FoundModel | null = null
  for (const folder of folders) {
    const found = await findModel(folder)
    if (found.complete) return found
    if (best === null || (!best.complete && found.missing.length < best.missing.length)) best = found
  }
  return best ?? findModel(resolve(location.projectRoot, location.model))
}

/** Returns the names under which a model is published as ONNX. */
export function exportsOf(model: string): readonly string[] {
  const [owner, name] = model.split('/')
  return owner === 'openai' ? [model, `onnx-community/${name}`, `Xenova/${name}`] : [model]
}

async function candidates(location: ModelLocation): Promise<readonly string[]> {
  const { model, projectRoot, modelsDirectory } = location
  const own = resolve(projectRoot, model)
  if (isAbsolute(model) || model.startsWith('.') || !MODEL_NAME.test(model)) return [own]
  const names = exportsOf(model)
  const cached = await Promise.all(names.map(name => snapshot(name, location)))
  return [...names.map(name => join(modelsDirectory, name)), own, ...cached.filter(folder => folder !== null)]
}

/** Returns the folder of a model's revision in the cache of Hugging Face; null if it does not exist. */
async function snapshot(name: string, { revision, environment }: ModelLocation): Promise<string | null> {
  const home = environment.HF_HOME ?? join(environment.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'huggingface')
  const root = join(environment.HF_HUB_CACHE ?? join(home, 'hub'), `models--${name.replaceAll('/', '--')}`)
  const commit = await readFile(join(root, 'refs', revision), 'utf8').catch(() => null)
  return commit === null ? null : join(root, 'snapshots', commit.trim())
}
