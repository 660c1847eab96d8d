// Runs the checks of one client, and prints each result as a line of JSON.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'

export const URL_OF_SERVER = process.env.SVC_URL.replace(/\/$/, '')
// The bundled model, and the same weights with a template that has tools and thoughts.
export const MODEL = 'vox-tiny'
export const TOOL_MODEL = 'vox-tools'
export const EMBEDDER = 'bert'
export const QUESTION = 'Make a table of books with a title and a price.'
export const ANSWER = /@table type Book/
export const CITY_SCHEMA = {
  type: 'object',
  properties: { city: { type: 'string', enum: ['Bonn', 'Rome'] } },
  required: ['city'],
  additionalProperties: false
}

/** Runs checks by name. A check fails by an exception. `packages`: packages whose versions are reported. */
export async function run(client, packages, checks) {
  const file = name => new URL(`./node_modules/${name}/package.json`, import.meta.url)
  const versions = Object.fromEntries(
    packages.map(name => [name, JSON.parse(readFileSync(file(name), 'utf8')).version])
  )
  for (const [check, function_] of Object.entries(checks)) {
    let result = { ok: true }
    try {
      await function_()
    } catch (error) {
      process.stderr.write(`${error.stack}\n`)
      result = { ok: false, problem: String(error).slice(0, 500) }
      process.exitCode = 1
    }
    process.stdout.write(`${JSON.stringify({ client, versions, check, ...result })}\n`)
  }
}

/** Accepts an object that follows the schema of a city. */
export function isCity(found) {
  assert.deepEqual(Object.keys(found), ['city'])
  assert.ok(['Bonn', 'Rome'].includes(found.city), JSON.stringify(found))
}

export function isVector(values) {
  assert.ok(values.length > 8 && values.every(each => typeof each === 'number'), JSON.stringify(values).slice(0, 200))
}
