import { emptyList, never, only, type UnsupportedFields } from '../unsupported-fields.ts'

/** Unsupported extensions of other servers that would change the answer. */
export const UNSUPPORTED_EXTENSIONS: UnsupportedFields = {
  ignore_eos: only(false),
  min_tokens: only(0),
  stop_token_ids: emptyList,
  allowed_token_ids: emptyList,
  bad_words: emptyList,
  use_beam_search: only(false),
  length_penalty: only(1),
  mirostat: only(0),
  chat_template: never,
  documents: emptyList,
  add_generation_prompt: only(true),
  continue_final_message: only(false),
  prompt_logprobs: never,
  images: emptyList
}

/** Constraints of vLLM and llama.cpp, for routes that do not support them. */
export const UNSUPPORTED_GUIDES: UnsupportedFields = {
  grammar: only(''),
  json_schema: never,
  structured_outputs: never,
  guided_json: never,
  guided_regex: never,
  guided_choice: never,
  guided_grammar: never
}
