import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'

/** Paths of a model's files. The decoder is one merged graph, or one graph for the first step and one for the others. */
export interface ModelFiles {
  readonly folder: string
  readonly config: string
  readonly generation: string
  readonly preprocessor: string
  readonly tokenizer: string
  readonly encoder: string
  readonly decoder:
    | { readonly kind: 'merged'; readonly graph: string }
    | { readonly kind: 'separate'; readonly first: string; readonly next: string }
  /** Changes when a file is replaced. */
  readonly fingerprint: string
}

export type FoundModel =
  | { readonly complete: true; readonly files: ModelFiles }
  | { readonly complete: false; readonly folder: string; readonly missing: readonly string[] }

const FILES = ['config.json', 'generation_config.json', 'preprocessor_config.json', 'tokenizer.json'] as const
/** Suffixes of graphs, in order of preference. A graph without a suffix has float32 weights. */
const SUFFIXES = ['', '_quantized', '_int8', '_uint8', '_q4', '_bnb4']

/** Finds the files of a Whisper export in a folder; the graphs may be in its subfolder `onnx`. */
export async function findModel(folder: string): Promise<FoundModel> {
  const small = await Promise.all(FILES.map(name => firstFile([join(folder, name)])))
  const graph = (name: string) =>
    firstFile(SUFFIXES.flatMap(suffix => ['onnx', '.'].map(sub => join(folder, sub, `${name}${suffix}.onnx`))))
  const [encoder, merged, first, next] = await Promise.all(
    ['encoder_model', 'decoder_model_merged', 'decoder_model', 'decoder_with_past_model'].map(graph)
  )
  const missing: string[] = FILES.filter((_, at) => small[at] === null)
  if (encoder === null) missing.push('onnx/encoder_model.onnx')
  const separate = first && next ? ([first, next] as const) : null
  if (!merged && separate === null)
    missing.push('onnx/decoder_model_merged.onnx (or decoder_model.onnx and decoder_with_past_model.onnx)')
  const [config, generation, preprocessor, tokenizer] = small
  if (missing.length > 0 || !config || !generation || !preprocessor || !tokenizer || !encoder)
    return { complete: false, folder, missing }
  const decoders = merged ? [merged] : (separate ?? [])
  return {
    complete: true,
    files: {
      folder,
      config: config.path,
      generation: generation.path,
      preprocessor: preprocessor.path,
      tokenizer: tokenizer.path,
      encoder: encoder.path,
      decoder: merged
        ? { kind: 'merged', graph: merged.path }
        : { kind: 'separate', first: first?.path as string, next: next?.path as string },
      fingerprint: [config, generation, preprocessor, tokenizer, encoder, ...decoders].map(({ mark }) => mark).join(' ')
    }
  }
}

/** True for a multilingual model, which has language tokens. */
export async function isMultilingual({ generation }: ModelFiles): Promise<boolean> {
  const { lang_to_id } = JSON.parse(await readFile(generation, 'utf8')) as { lang_to_id?: object }
  return Object.keys(lang_to_id ?? {}).length > 0
}

async function firstFile(paths: readonly string[]): Promise<{ readonly path: string; readonly mark: string } | null> {
  for (const path of paths) {
    const found = await stat(path).catch(() => null)
    if (found?.isFile()) return { path, mark: `${path}:${found.size}:${found.mtimeMs}` }
  }
  return null
}
