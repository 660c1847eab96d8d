import { lexer, type Token, type Tokens } from 'marked'
import type { ComponentChildren } from 'preact'

/** Draws Markdown as nodes, never as HTML. Links open http(s) addresses only; images are shown as their text. */
export function Markdown({ text }: { readonly text: string }) {
  return <div class="markdown">{lexer(text, { breaks: true }).map(block)}</div>
}

function block(token: Token, key: number): ComponentChildren {
  switch (token.type) {
    case 'heading':
      return <h3 key={key}>{inline(token.tokens)}</h3>
    case 'paragraph':
      return <p key={key}>{inline(token.tokens)}</p>
    case 'code':
      return (
        <pre key={key} class="card">
          {token.text}
        </pre>
      )
    case 'blockquote':
      return <blockquote key={key}>{(token.tokens ?? []).map(block)}</blockquote>
    case 'list': {
      const { ordered, items } = token as Tokens.List
      const children = items.map((item, index) => <li key={index}>{item.tokens.map(block)}</li>)
      return ordered ? <ol key={key}>{children}</ol> : <ul key={key}>{children}</ul>
    }
    case 'table': {
      const { header, rows } = token as Tokens.Table
      return (
        <table key={key}>
          <thead>
            <tr>
              {header.map((cell, index) => (
                <th key={index}>{inline(cell.tokens)}</th>
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
        if (!/^https?:\/\//i.test(href)) return <span key={key}>{inline(token.tokens)}</span>
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
