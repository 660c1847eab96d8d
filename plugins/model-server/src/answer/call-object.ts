/**
 * Incremental parser of one call, `{"name": "f", "arguments": {…}}`. It reads character by character and exposes the
 * name and the arguments as soon as they are certain. Models also write `parameters`, or the name under `function`.
 */
export class CallObject {
  /** Everything read so far. */
  raw = ''
  /** Function name, set once its string has ended. */
  name: string | undefined
  /** JSON text of the arguments so far; undefined until it is certain that they are an object. */
  argumentsText: string | undefined
  /** `broken`: the text is not a call. */
  state: 'reading' | 'complete' | 'broken' = 'reading'
  #step: 'open' | 'key' | 'in-key' | 'colon' | 'value-start' | 'value' | 'after' = 'open'
  #key = ''
  #value = ''
  #depth = 0
  #inString = false
  #escaped = false
  readonly #alone: boolean

  /** `name`: function name, if it precedes the JSON, which then contains only the arguments. */
  constructor(name?: string) {
    this.#alone = name !== undefined
    if (name === undefined) return
    this.name = name
    this.#key = 'arguments'
    this.#step = 'value-start'
  }

  push(character: string): void {
    this.raw += character
    if (this.#step === 'in-key') this.#readKey(character)
    else if (this.#step === 'value') this.#readValue(character)
    else if (!/\s/.test(character)) this.#readStructure(character)
  }

  #readStructure(character: string): void {
    const step = this.#step
    if (step === 'open' && character === '{') this.#step = 'key'
    else if (step === 'key' && character === '"') {
      this.#key = character
      this.#step = 'in-key'
    } else if ((step === 'key' || step === 'after') && character === '}') this.#end()
    else if (step === 'colon' && character === ':') this.#step = 'value-start'
    else if (step === 'value-start') {
      this.#value = ''
      this.#depth = 0
      this.#step = 'value'
      this.#readValue(character)
    } else if (step === 'after' && character === ',') this.#step = 'key'
    else this.state = 'broken'
  }

  #readKey(character: string): void {
    this.#key += character
    if (!this.#endsString(character)) return
    const key = parse(this.#key)
    if (typeof key !== 'string') this.state = 'broken'
    else this.#key = key
    this.#step = 'colon'
  }

  #readValue(character: string): void {
    if (this.#inString) {
      this.#value += character
      if (this.#endsString(character)) {
        this.#inString = false
        if (this.#depth === 0) this.#endValue('after')
      }
    } else if (character === ',' && this.#depth === 0) this.#endValue('key')
    else if ((character === '}' || character === ']') && this.#depth === 0) {
      this.#endValue('after')
      if (character === '}') this.#end()
      else this.state = 'broken'
    } else {
      this.#value += character
      if (character === '"') this.#inString = true
      else if (character === '{' || character === '[') this.#depth += 1
      else if (character === '}' || character === ']') this.#depth -= 1
      if (/[}\]]/.test(character) && this.#depth === 0) this.#endValue('after')
    }
    if (this.#step === 'value' && this.#isArguments() && this.#value.startsWith('{')) this.argumentsText = this.#value
  }

  #endValue(next: 'key' | 'after'): void {
    this.#step = next
    if (this.#alone) this.state = 'complete'
    const text = this.#value.trim()
    if (this.#key === 'name' || (this.#key === 'function' && text.startsWith('"'))) {
      const name = parse(text)
      if (typeof name === 'string' && name !== '') this.name ??= name
      else this.state = 'broken'
    } else if (this.#isArguments() && text !== 'null') {
      // Some models write the arguments as JSON inside a string.
      const value = text.startsWith('"') ? parse(text) : text
      this.argumentsText = typeof value === 'string' ? value : text
    }
  }

  #isArguments(): boolean {
    return this.#key === 'arguments' || this.#key === 'parameters'
  }

  #end(): void {
    this.argumentsText ??= '{}'
    this.state = this.name === undefined || this.state === 'broken' ? 'broken' : 'complete'
  }

  /** True if a character of a string is its closing quote. */
  #endsString(character: string): boolean {
    if (this.#escaped) this.#escaped = false
    else if (character === '\\') this.#escaped = true
    else return character === '"'
    return false
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
