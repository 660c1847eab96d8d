/** Attributes and events that React's types know, on any element. */
const NAMES: readonly string[] = [
  'abbr about accentHeight accept acceptCharset accessKey accumulate action additive align alignmentBaseline',
  'allow allowFullScreen allowReorder allowTransparency allowpopups alphabetic alt amplitude arabicForm as',
  'ascent async attributeName attributeType autoCapitalize autoComplete autoCorrect autoFocus autoPlay',
  'autoReverse autoSave autosize azimuth baseFrequency baseProfile baselineShift bbox begin bgcolor bias',
  'blinkfeatures blocking border by calcMode capHeight capture cellPadding cellSpacing challenge charSet',
  'checked children cite classID className clip clipPath clipPathUnits clipRule closedby colSpan color',
  'colorInterpolation colorInterpolationFilters colorProfile colorRendering cols content contentEditable',
  'contentScriptType contentStyleType contextMenu controls controlsList coords crossOrigin cursor cx cy d',
  'dangerouslySetInnerHTML data datatype dateTime decelerate decoding default defaultChecked defaultValue defer',
  'descent diffuseConstant dir dirName direction disablePictureInPicture disableRemotePlayback',
  'disableblinkfeatures disabled disableguestresize disablewebsecurity display divisor dominantBaseline',
  'download draggable dur dx dy edgeMode elevation enableBackground encType end enterKeyHint exponent',
  'exportparts externalResourcesRequired fetchPriority fill fillOpacity fillRule filter filterRes filterUnits',
  'floodColor floodOpacity focusable fontFamily fontSize fontSizeAdjust fontStretch fontStyle fontVariant',
  'fontWeight form formAction formEncType formMethod formNoValidate formTarget format fr frame frameBorder from',
  'fx fy g1 g2 glyphName glyphOrientationHorizontal glyphOrientationVertical glyphRef gradientTransform',
  'gradientUnits guestinstance hanging headers height hidden high horizAdvX horizOriginX href hrefLang htmlFor',
  'httpEquiv httpreferrer id ideographic imageRendering imageSizes imageSrcSet in in2 inert inlist inputMode',
  'integrity intercept is itemID itemProp itemRef itemScope itemType k k1 k2 k3 k4 kernelMatrix',
  'kernelUnitLength kerning key keyParams keyPoints keySplines keyTimes keyType kind label lang lengthAdjust',
  'letterSpacing lightingColor limitingConeAngle list loading local loop low manifest marginHeight marginWidth',
  'markerEnd markerHeight markerMid markerStart markerUnits markerWidth mask maskContentUnits maskUnits',
  'mathematical max maxLength media mediaGroup method min minLength mode multiple muted name noModule',
  'noValidate nodeintegration nonce numOctaves offset onAbort onAnimationEnd onAnimationIteration',
  'onAnimationStart onAuxClick onBeforeInput onBeforeToggle onBlur onCanPlay onCanPlayThrough onCancel onChange',
  'onClick onClose onCompositionEnd onCompositionStart onCompositionUpdate onContextMenu onCopy onCut',
  'onDoubleClick onDrag onDragEnd onDragEnter onDragExit onDragLeave onDragOver onDragStart onDrop',
  'onDurationChange onEmptied onEncrypted onEnded onError onFocus onInput onInvalid onKeyDown onKeyPress',
  'onKeyUp onLoad onLoadStart onLoadedData onLoadedMetadata onMouseDown onMouseEnter onMouseLeave onMouseMove',
  'onMouseOut onMouseOver onMouseUp onPaste onPause onPlay onPlaying onPointerCancel onPointerDown',
  'onPointerEnter onPointerLeave onPointerMove onPointerOut onPointerOver onPointerUp onProgress onRateChange',
  'onReset onResize onScroll onScrollEnd onSeeked onSeeking onSelect onStalled onSubmit onSuspend onTimeUpdate',
  'onToggle onTouchCancel onTouchEnd onTouchMove onTouchStart onTransitionCancel onTransitionEnd',
  'onTransitionRun onTransitionStart onVolumeChange onWaiting onWheel opacity open operator optimum order',
  'orient orientation origin overflow overlinePosition overlineThickness paintOrder panose1 part partition path',
  'pathLength pattern patternContentUnits patternTransform patternUnits ping placeholder playsInline plugins',
  'pointerEvents points pointsAtX pointsAtY pointsAtZ popover popoverTarget popoverTargetAction poster',
  'precedence prefix preload preserveAlpha preserveAspectRatio primitiveUnits property r radioGroup radius',
  'readOnly ref refX refY referrerPolicy rel renderingIntent repeatCount repeatDur required requiredExtensions',
  'requiredFeatures resource restart result results rev reversed role rotate rowSpan rows rules rx ry sandbox',
  'scale scope scoped scrolling seamless security seed selected shape shapeRendering size sizes slope slot',
  'spacing span specularConstant specularExponent speed spellCheck spreadMethod src srcDoc srcLang srcSet start',
  'startOffset stdDeviation stemh stemv step stitchTiles stopColor stopOpacity strikethroughPosition',
  'strikethroughThickness string stroke strokeDasharray strokeDashoffset strokeLinecap strokeLinejoin',
  'strokeMiterlimit strokeOpacity strokeWidth style summary suppressContentEditableWarning',
  'suppressHydrationWarning surfaceScale systemLanguage tabIndex tableValues target targetX targetY textAnchor',
  'textDecoration textLength textRendering title to transform translate type typeof u1 u2 underlinePosition',
  'underlineThickness unicode unicodeBidi unicodeRange unitsPerEm unselectable useMap useragent vAlphabetic',
  'vHanging vIdeographic vMathematical valign value values vectorEffect version vertAdvY vertOriginX',
  'vertOriginY viewBox viewTarget visibility vocab webpreferences width widths wmode wordSpacing wrap',
  'writingMode x x1 x2 xChannelSelector xHeight xlinkActuate xlinkArcrole xlinkHref xlinkRole xlinkShow',
  'xlinkTitle xlinkType xmlBase xmlLang xmlSpace xmlns xmlnsXlink y y1 y2 yChannelSelector z zoomAndPan'
].flatMap(line => line.split(' '))

const BY_LOWER_CASE: ReadonlyMap<string, string> = new Map(NAMES.map(name => [name.toLowerCase(), name]))

/** Attributes that are bools or numbers in React's types, and texts in HTML. */
const FLAGS: ReadonlySet<string> = new Set(
  [
    'allowFullScreen async autoFocus autoPlay checked controls default defaultChecked defer disablePictureInPicture',
    'disableRemotePlayback disabled formNoValidate hidden inert itemScope loop multiple muted noModule noValidate',
    'open playsInline readOnly required reversed scoped seamless selected'
  ].flatMap(line => line.split(' '))
)
const NUMBERS: ReadonlySet<string> = new Set(
  [
    'high low optimum aria-colcount aria-colindex aria-colspan aria-level aria-posinset aria-rowcount aria-rowindex',
    'aria-rowspan aria-setsize aria-valuemax aria-valuemin aria-valuenow'
  ].flatMap(line => line.split(' '))
)

/** Returns the name of an attribute in React's types: `autoplay` is `autoPlay`, `xml:lang` is `xmlLang`. Null if they do not know it. */
export function reactName(name: string): string | null {
  return name.includes('-') ? name : (BY_LOWER_CASE.get(name.replace(':', '').toLowerCase()) ?? null)
}

/** Returns the code of a text for an attribute that has another type in React: `disabled="disabled"` is true, as in HTML. */
export function reactValue(name: string, text: string | null): string | null {
  if (text === null) return null
  if (FLAGS.has(name)) return 'true'
  return NUMBERS.has(name) && /^-?\d+(\.\d+)?$/.test(text) ? text : null
}
