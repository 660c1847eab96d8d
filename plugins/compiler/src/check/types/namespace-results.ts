import { ANY, generic, STR, UNIT, type ValueType } from './type.ts'

const results = (names: string, value: ValueType): (readonly [path: string, result: ValueType])[] =>
  names.split(' ').map(path => [path, generic('Result', value, ANY)])

/** Result types of namespace functions that other plugins provide, by path. All of them can fail. */
const RESULTS: ReadonlyMap<string, ValueType> = new Map([
  ...results('Browser.open Browser.text Browser.html Browser.screenshot', STR),
  ...results('Browser.goto Browser.click Browser.fill Browser.wait_for Browser.close', UNIT),
  ...results('HTTP.get_text HTTP.post_json', STR),
  ...results('OpenClaw.list_skills OpenClaw.call OpenClaw.subscribe OpenClaw.unsubscribe OpenClaw.notify', STR),
  ...results('Speech.transcribe', STR)
])

/** Returns the result type of a function; undefined if it does not exist. */
export function namespaceResult(namespace: string, name: string): ValueType | undefined {
  return RESULTS.get(`${namespace}.${name}`)
}
