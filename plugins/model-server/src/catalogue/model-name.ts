import { errors } from '../errors.ts'
import { shownName } from '../shown-name.ts'

/** Maximum length of a model name, in characters. */
const MAX_LENGTH = 200
/** A part begins with a letter or digit, so that no part is `.` or `..`. */
const PART = '[A-Za-z0-9][A-Za-z0-9._-]*'

/** Pattern of model names: up to five parts, such as `qwen2.5:0.5b` or `hf.co/org/model:Q4_0`. */
export const MODEL_NAME = `^${PART}(/${PART}){0,4}(:${PART})?$`

const pattern = new RegExp(MODEL_NAME)

/** Throws `MSV_MODEL_NAME` unless the name is valid. */
export function checkModelName(name: string): void {
  if (name.length <= MAX_LENGTH && pattern.test(name)) return
  throw errors.create('MSV_MODEL_NAME', `${shownName(name)} is not a valid model name`, {
    data: { param: 'model' },
    hint: 'Use letters, digits, ".", "_" and "-", with parts separated by "/" and an optional tag after ":".'
  })
}

/** Returns the name without the tag `:latest`, which stands for no tag. */
export function plainName(name: string): string {
  return name.endsWith(':latest') ? name.slice(0, -':latest'.length) : name
}
