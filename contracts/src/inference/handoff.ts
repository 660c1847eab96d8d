import { type Infer, t } from '@svc/plugin-sdk'

const text = (description: string) => t.string({ description, minLength: 1 })
const note = (description: string) => t.optional(t.nullable(t.string(), { description }))

/**
 * File that a training or merge run writes next to its weights, so that any server can serve them:
 * `external_serving_handoff_v1.json`. The published form of this schema is `eval/external-serving-handoff.schema.json`.
 */
export const externalServingHandoffSchema = t.object({
  schema: t.enum(['vox_external_serving_handoff_v1'], { description: 'Name of this format.' }),
  schema_version: t.enum([1], { description: 'Version of this format.' }),
  backend_family: t.enum(['vllm', 'ollama', 'hf-transformers', 'openai-compatible', 'other'], {
    description: 'Kind of server that the artefacts are meant for.'
  }),
  base_model: text('Identifier or folder of the base model.'),
  tokenizer_source: text('Path of the tokenizer file, or the identifier that it comes from.'),
  artifact_dir: text('Folder of the artefacts.'),
  prompt_format: text('How conversations become prompts, for example qwen_chatml_im_start.'),
  adapter_path: note('Adapter file, when the weights are not merged.'),
  openai_base_url: note('Address of a server that already serves the model.'),
  notes: note('Free text for the operator.')
})

export type ExternalServingHandoff = Infer<typeof externalServingHandoffSchema>
