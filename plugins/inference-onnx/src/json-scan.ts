/**
 * Finds the first duplicate key of an object, which `JSON.parse` accepts silently.
 *
 * `json` must be valid JSON. Returns the key and its index in the string, or null.
 */
export function findDuplicateKey(json: string): { readonly key: string; readonly index: number } | null {
  const open: (Set<string> | null)[] = []
  let index = 0
  while (index < json.length) {
    const character = json[index]
    if (character === '{') open.push(new Set())
    else if (character === '[') open.push(null)
    else if (character === '}' || character === ']') open.pop()
    else if (character === '"') {
      const end = endOfString(json, index)
      const keys = open.at(-1)
      if (keys && isKey(json, end)) {
        const key = JSON.parse(json.slice(index, end)) as string
        if (keys.has(key)) return { key, index }
        keys.add(key)
      }
      index = end
      continue
    }
    index++
  }
  return null
}

/** Returns the index after the closing quote of the string that starts at `start`. */
function endOfString(json: string, start: number): number {
  let index = start + 1
  while (index < json.length && json[index] !== '"') index += json[index] === '\\' ? 2 : 1
  return index + 1
}

function isKey(json: string, end: number): boolean {
  let index = end
  while (/\s/.test(json[index] ?? '')) index++
  return json[index] === ':'
}
