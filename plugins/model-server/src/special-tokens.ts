import type { LoadedModel } from '@svc/contracts'

/**
 * Escapes names of special tokens in text from clients, so that a message cannot end itself and begin another in a
 * different role: `<|im_end|>` becomes `[im_end]`, `</s>` becomes `[/s]`, `[INST]` becomes `(INST)`.
 */
export function neutraliseSpecialTokens(model: LoadedModel, text: string): string {
  return text.replace(CANDIDATE, name => (isSpecial(model, name) ? inBrackets(name) : name))
}

const CANDIDATE = /<[|\uff5c][^|\uff5c<>\s]{1,48}[|\uff5c]>|<\/?[a-z_]{1,24}[0-9]*>|\[\/?[A-Z_]{2,24}\]/g

const NAMES_REMEMBERED = 4096
const remembered = new WeakMap<LoadedModel, Map<string, boolean>>()

function isSpecial(model: LoadedModel, name: string): boolean {
  let names = remembered.get(model)
  if (names === undefined) {
    names = new Map()
    remembered.set(model, names)
  }
  const known = names.get(name)
  if (known !== undefined) return known
  // Ordinary text can be a single token too. A name is special only if recognising special tokens makes it one.
  const special = model.tokenize(name, { special: true })
  const plain = model.tokenize(name, { special: false })
  const verdict = special.length !== plain.length || special.some((token, at) => token !== plain[at])
  if (names.size >= NAMES_REMEMBERED) names.clear()
  names.set(name, verdict)
  return verdict
}

function inBrackets(name: string): string {
  const inner = name.slice(1, -1).replace(/^[|\uff5c]|[|\uff5c]$/g, '')
  return name.startsWith('[') ? `(${inner})` : `[${inner}]`
}
