#!/usr/bin/env node
import { readdirSync, statSync } from 'node:fs'
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'

const USAGE = `svc-model-server serve --model PATH [options]

  --model PATH         run directory or GGUF file to serve (required)
  --port N             port to listen on (11435)
  --host ADDRESS       address to listen on (127.0.0.1)
  --model-name NAME    name that clients send (last part of PATH)
  --device NAME        auto, cpu, cuda, cuda:N, metal, webgpu (auto)
  --quant NAME         quantisation: auto, none, q8, q4 (auto)
  --max-tokens N       default maximum of generated tokens (512)
  --temperature N      default temperature; 0 is greedy (0.7)
  --embedding-model DIR  folder of an embedding model (none)
  --reranker-model DIR   folder of a reranker (none)

The process exits with an error if the model cannot be loaded.

To run the same server with settings from svc.toml:

  svc serve --profile model-server

Set plugins.model-server.model, .host and .api_key in svc.toml. The README
of @svc/plugin-model-server describes the setup of a machine with a GPU.

Every other setting comes from svc.toml and the environment, as for svc itself.
`

const OPTIONS = [
  'model',
  'port',
  'host',
  'model-name',
  'device',
  'quant',
  'max-tokens',
  'temperature',
  'embedding-model',
  'reranker-model'
]
/** Names of the settings that differ from the names of their options. */
const SETTINGS = { quant: 'quantization' }
/** Options that are paths, relative to the working directory. */
const PATHS = ['model', 'embedding-model', 'reranker-model']
const NUMBERS = ['port', 'max-tokens', 'temperature']
const QUANTIZATIONS = ['auto', 'none', 'q8', 'q4']
const USAGE_ERROR = 2

process.exitCode = await run(process.argv.slice(2))

async function run(argv) {
  const { values, positionals, problem } = parse(argv)
  if (values?.help) {
    process.stdout.write(USAGE)
    return 0
  }
  const wrong = problem ?? check(values, positionals)
  if (wrong !== undefined) {
    process.stderr.write(`svc-model-server: ${wrong}\nsvc-model-server --help lists the options\n`)
    return USAGE_ERROR
  }
  const set = Object.entries(values).flatMap(([name, value]) => {
    const toml = NUMBERS.includes(name) ? value : JSON.stringify(PATHS.includes(name) ? resolve(value) : value)
    return ['--set', `plugins.model-server.${SETTINGS[name] ?? name.replaceAll('-', '_')}=${toml}`]
  })
  // This process serves only the model, so it exits if the model cannot be loaded.
  set.push('--set', 'plugins.model-server.must_load=true', '--set', 'plugins.model-server.uncaught="abort-process"')
  // biome-ignore lint/style/noRestrictedImports: a separate program, not part of the plugin
  const { main } = await import('@svc/kernel/cli')
  return main(['serve', '--profile', 'model-server', ...set])
}

function parse(argv) {
  const options = Object.fromEntries(OPTIONS.map(name => [name, { type: 'string' }]))
  try {
    return parseArgs({
      args: argv,
      options: { ...options, help: { type: 'boolean', short: 'h' } },
      allowPositionals: true
    })
  } catch (error) {
    return { problem: error.message }
  }
}

/** Returns the problem with the arguments; undefined if they are valid. */
function check(values, positionals) {
  if (positionals.length !== 1 || positionals[0] !== 'serve') return 'expected the command serve'
  if (values.model === undefined) return '--model PATH is missing'
  const number = NUMBERS.find(name => values[name] !== undefined && !/^\d+(\.\d+)?$/.test(values[name]))
  if (number !== undefined) return `--${number} must be a number, got '${values[number]}'`
  if (values.quant !== undefined && !QUANTIZATIONS.includes(values.quant)) {
    return `--quant must be one of ${QUANTIZATIONS.join(', ')}, got '${values.quant}'`
  }
  const directory = resolve(values.model)
  const found = statSync(directory, { throwIfNoEntry: false })
  if (found === undefined) return `the run directory ${directory} does not exist`
  if (found.isFile() && directory.endsWith('.gguf')) return undefined
  if (!found.isDirectory()) return `the run directory ${directory} is neither a directory nor a GGUF file`
  const missing = missingFiles(readdirSync(directory))
  return missing.length === 0 ? undefined : `${directory} is no run directory; missing: ${missing.join(', ')}`
}

/** Returns the required files that a run directory lacks. An exported graph needs no config.json. */
function missingFiles(names) {
  // A GGUF file contains all parts.
  if (!names.includes('config.json') && names.some(name => name.endsWith('.gguf'))) return []
  const isExported = names.some(name => name.endsWith('.onnx') || name === 'genai_config.json')
  const hasWeights = isExported || names.some(name => /\.safetensors(\.index\.json)?$/.test(name))
  return [
    ...(isExported || names.includes('config.json') ? [] : ['config.json']),
    ...(names.includes('tokenizer.json') ? [] : ['tokenizer.json']),
    ...(hasWeights ? [] : ['weights (*.safetensors, *.gguf or *.onnx)'])
  ]
}
