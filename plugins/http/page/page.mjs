/** Shows /openapi.json and sends requests. Everything from the server enters the page as text, never as markup. */

import { sampleOf } from './sample.mjs'

const operations = document.getElementById('operations')
const about = document.getElementById('about')
const filter = document.getElementById('filter')
const token = document.getElementById('token')
const empty = document.getElementById('empty')
/** OpenAPI document of the page. */
let api = {}

/** Creates an element with properties and children; strings become text nodes. */
function element(name, properties = {}, ...children) {
  const node = Object.assign(document.createElement(name), properties)
  node.append(...children.filter(child => child !== null))
  return node
}

function authorization() {
  return token.value === '' ? {} : { authorization: `Bearer ${token.value}` }
}

async function load() {
  const response = await fetch('/openapi.json', { headers: authorization() })
  const answer = await response.json()
  if (response.status === 401) {
    token.hidden = false
    about.textContent = 'This server requires its bearer token.'
    return
  }
  if (!response.ok) throw new Error(answer.error.message ?? answer.error)
  api = answer
  document.getElementById('title').textContent = `${api.info.title} ${api.info.version}`
  about.textContent = api.info.description ?? ''
  token.hidden = api.components?.securitySchemes === undefined
  render()
}

function render() {
  const byPlugin = new Map()
  for (const [path, methods] of Object.entries(api.paths)) {
    for (const [method, operation] of Object.entries(methods)) {
      const plugin = operation['x-plugin'] ?? operation.tags?.[0] ?? 'routes'
      byPlugin.set(plugin, [...(byPlugin.get(plugin) ?? []), { method: method.toUpperCase(), path, operation }])
    }
  }
  operations.replaceChildren(
    ...[...byPlugin].map(([plugin, items]) =>
      element('section', {}, element('h2', { textContent: plugin }), ...items.map(renderOperation))
    )
  )
  applyFilter()
}

function renderOperation({ method, path, operation }) {
  const summary = element(
    'summary',
    {},
    element('span', { className: 'method', textContent: method }),
    element('span', { className: 'path', textContent: path }),
    element('span', { className: 'quiet', textContent: operation.summary })
  )
  const details = element('details', { className: 'operation' }, summary)
  // Rendered on first opening: most operations are never opened.
  details.addEventListener('toggle', () => details.append(renderContent(method, path, operation)), { once: true })
  return details
}

function renderContent(method, path, operation) {
  const body = operation.requestBody?.content['application/json'].schema
  const responses = Object.entries(operation.responses).map(([status, response]) =>
    element(
      'details',
      {},
      element('summary', { textContent: `${status} ${response.description}` }),
      ...Object.entries(response.content ?? {}).map(([type, content]) => schemaBlock(type, content.schema))
    )
  )
  return element(
    'div',
    { className: 'content' },
    operation.description === undefined ? null : element('p', { textContent: operation.description }),
    body === undefined ? null : schemaBlock('Body', body),
    element('h3', { textContent: 'Responses' }),
    ...responses,
    element('h3', { textContent: 'Try it' }),
    renderForm(method, path, operation)
  )
}

function schemaBlock(title, schema) {
  return element(
    'div',
    {},
    element('div', { className: 'quiet', textContent: title }),
    element('pre', { textContent: JSON.stringify(schema, null, 2) })
  )
}

function renderForm(method, path, operation) {
  const fields = (operation.parameters ?? []).map(parameter => {
    const input = element('input', {
      name: parameter.name,
      required: parameter.required,
      placeholder: typeOf(parameter)
    })
    return { parameter, input }
  })
  const body = operation.requestBody?.content['application/json'].schema
  const text =
    body === undefined
      ? null
      : element('textarea', {
          spellcheck: false,
          value: JSON.stringify(sampleOf(body, api), null, 2),
          ariaLabel: 'Body'
        })
  const output = element('pre', { hidden: true })
  const form = element(
    'form',
    {},
    ...fields.map(({ parameter, input }) =>
      element('label', {}, `${parameter.name}${parameter.required ? ' *' : ''} (${parameter.in})`, input)
    ),
    text,
    element('button', { textContent: 'Send' }),
    output
  )
  form.addEventListener('submit', event => {
    event.preventDefault()
    send(method, path, fields, text, output)
  })
  return form
}

function typeOf({ schema, content }) {
  const type = (schema ?? content['application/json'].schema).type ?? 'any'
  return content === undefined ? String(type) : 'JSON'
}

async function send(method, path, fields, text, output) {
  const query = new URLSearchParams()
  let target = path
  for (const { parameter, input } of fields) {
    if (parameter.in === 'path') target = target.replace(`{${parameter.name}}`, encodeURIComponent(input.value))
    else if (input.value !== '') {
      const values = parameter.schema?.type === 'array' ? input.value.split(',') : [input.value]
      for (const value of values) query.append(parameter.name, value.trim())
    }
  }
  output.hidden = false
  output.className = ''
  output.textContent = '…'
  try {
    const response = await fetch(query.size === 0 ? target : `${target}?${query}`, {
      method,
      headers: { ...authorization(), ...(text === null ? {} : { 'content-type': 'application/json' }) },
      ...(text === null ? {} : { body: text.value })
    })
    output.className = response.ok ? '' : 'error'
    output.textContent = `${response.status} ${response.statusText}\n\n${pretty(await response.text())}`
  } catch (error) {
    output.className = 'error'
    output.textContent = error.message
  }
}

function pretty(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return text
  }
}

function applyFilter() {
  const wanted = filter.value.toLowerCase()
  let total = 0
  for (const section of operations.children) {
    let shown = 0
    for (const details of section.querySelectorAll('details.operation')) {
      details.hidden = !details.querySelector('summary').textContent.toLowerCase().includes(wanted)
      if (!details.hidden) shown += 1
    }
    section.hidden = shown === 0
    total += shown
  }
  empty.hidden = total > 0
  empty.textContent =
    operations.children.length === 0
      ? 'No plugin serves an operation over HTTP. To see the active plugins: svc plugins list'
      : `No operation matches "${filter.value}".`
}

filter.addEventListener('input', applyFilter)
token.addEventListener('change', () => load().catch(fail))

function fail(error) {
  about.textContent = `The API description could not be loaded: ${error.message}`
  about.className = 'error'
}

load().catch(fail)
