import { lexer, type Token, type Tokens } from 'marked'
import type { ComponentChildren } from 'preact'
import { useMemo } from 'preact/hooks'

/** Text beyond which Markdown is shown as plain text: parsing it would block the page. */
const MAX_PARSED = 200_000

/** Draws a model's Markdown as nodes, never as HTML. Links open http(s) addresses only; images are not loaded. */
export function Markdown({ text }: { readonly text: string }) {
  const nodes = useMemo(
    () => (text.length > MAX_PARSED ? text : lexer(text, { gfm: true, breaks: true }).map(block)),
    [text]
  )
  return <div class="markdown">{nodes}</div>
}

function block(token: Token, key: number): ComponentChildren {
  switch (token.type) {
    case 'heading':
      return <h4 key={key}>{inline(token.tokens)}</h4>
    case 'paragraph':
      return <p key={key}>{inline(token.tokens)}</p>
    case 'code':
      return (
        <pre key={key} tabIndex={0}>
          <code>{token.text}</code>
        </pre>
      )
    case 'blockquote':
      return <blockquote key={key}>{(token.tokens ?? []).map(block)}</blockquote>
    case 'list': {
      const { ordered, items, start } = token as Tokens.List
      const children = items.map((item, index) => <li key={index}>{item.tokens.map(block)}</li>)
      return ordered ? (
        <ol key={key} start={start === '' ? 1 : start}>
          {children}
        </ol>
      ) : (
        <ul key={key}>{children}</ul>
      )
    }
    case 'table':
      return <Table key={key} table={token as Tokens.Table} />
    case 'hr':
      return <hr key={key} />
    case 'space':
      return null
    case 'text':
      return <span key={key}>{token.tokens === undefined ? token.text : inline(token.tokens)}</span>
    default:
      return <span key={key}>{token.raw}</span>
  }
}

function Table({ table: { header, rows } }: { readonly table: Tokens.Table }) {
  return (
    <table>
      <thead>
        <tr>
          {header.map((cell, index) => (
            <th key={index} scope="col">
              {inline(cell.tokens)}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((cells, row) => (
          <tr key={row}>
            {cells.map((cell, index) => (
              <td key={index}>{inline(cell.tokens)}</td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  )
}

function inline(tokens: readonly Token[] | undefined): ComponentChildren {
  return (tokens ?? []).map((token, key) => {
    switch (token.type) {
      case 'strong':
        return <strong key={key}>{inline(token.tokens)}</strong>
      case 'em':
        return <em key={key}>{inline(token.tokens)}</em>
      case 'del':
        return <del key={key}>{inline(token.tokens)}</del>
      case 'codespan':
        return <code key={key}>{token.text}</code>
      case 'br':
        return <br key={key} />
      case 'link': {
        const { href } = token as Tokens.Link
        if (!/^https?:\/\//i.test(href)) return <span key={key}>{token.raw}</span>
        return (
          <a key={key} href={href} target="_blank" rel="noopener noreferrer nofollow">
            {inline(token.tokens)}
          </a>
        )
      }
      case 'text':
        return token.tokens === undefined ? token.text : <span key={key}>{inline(token.tokens)}</span>
      case 'escape':
        return token.text
      default:
        return token.raw
    }
  })
}
