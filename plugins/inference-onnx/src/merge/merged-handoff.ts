import { rename, rm, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import type { ExternalServingHandoff } from '@svc/contracts'
import { inferenceErrors } from '../errors.ts'
import type { RunDirectory } from '../run-directory.ts'

const CHATML = 'qwen_chatml_im_start'

/** Returns the handoff of merged weights. Fields that the run directory's handoff states are taken from it. */
export function mergedHandoff(
  { path, configuration, handoff, chatTemplate, tokenizerConfiguration }: RunDirectory,
  output: string,
  baseModel: string | null
): ExternalServingHandoff {
  const template = chatTemplate ?? tokenizerConfiguration?.chat_template
  const isChatml = typeof template !== 'string' || template.includes('<|im_start|>')
  const named = configuration._name_or_path
  return {
    schema: 'vox_external_serving_handoff_v1',
    schema_version: 1,
    backend_family: 'other',
    base_model: handoff?.base_model ?? baseModel ?? (typeof named === 'string' && named !== '' ? named : path),
    tokenizer_source: handoff?.tokenizer_source ?? join(path, 'tokenizer.json'),
    artifact_dir: dirname(output),
    prompt_format: handoff?.prompt_format ?? (isChatml ? CHATML : 'chat_template of the tokenizer'),
    adapter_path: null,
    openai_base_url: handoff?.openai_base_url ?? null,
    notes: `${basename(output)} has only the tensors that the adapter changed; take all others from the base model.`
  }
}

/** Replaces a handoff file in one step. Throws `INF_MERGE_UNWRITABLE`. */
export async function writeHandoff(file: string, handoff: ExternalServingHandoff): Promise<void> {
  const temporary = `${file}.${process.pid}.tmp`
  try {
    await writeFile(temporary, `${JSON.stringify(handoff, null, 2)}\n`, { flush: true })
    await rename(temporary, file)
  } catch (error) {
    await rm(temporary, { force: true }).catch(() => {})
    throw inferenceErrors.create('INF_MERGE_UNWRITABLE', `${file} could not be written: ${(error as Error).message}`, {
      cause: error,
      at: { file },
      data: { file },
      hint: 'The merged weights are complete. Free space, and merge again with --replace.'
    })
  }
}
