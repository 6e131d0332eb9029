// Draws pictures from the module's memory onto a canvas, and converts each sample as `nestcast decode` does. WebGL2
// does the same integer arithmetic; on a 2D canvas, the module itself converts.

const GREY = 0;
// The first of the formats that are YCbCr.
export const LIMITED = 2;
// The luma of black, and the factors for luma and colour differences, in 1/65536.
const FACTORS = { limited: [16, 76309, 74607], full: [0, 65536, 65536] };
// Factors for red from Cr, green from Cb and Cr, and blue from Cb (ITU-R BT.601-7, section 2.5; ITU-R BT.709-6, section 3).
const BT601 = [1.402, -0.344136, -0.714136, 1.772];
const BT709 = [1.5748, -0.187324, -0.468124, 1.8556];

const VERTEX = `#version 300 es
void main() {
  gl_Position = vec4(gl_VertexID == 1 ? 3.0 : -1.0, gl_VertexID == 2 ? 3.0 : -1.0, 0.0, 1.0);
}`;
const FRAGMENT = `#version 300 es
precision highp float;
precision highp int;
precision highp usampler2D;
uniform usampler2D first, blue, red;
uniform int format, height;
uniform ivec2 luma;
uniform ivec4 differences;
out vec4 colour;
void main() {
  ivec2 at = ivec2(int(gl_FragCoord.x), height - 1 - int(gl_FragCoord.y));
  ivec3 sampled = ivec3(texelFetch(first, at, 0).rgb);
  ivec3 rgb = format == 0 ? sampled.rrr : sampled;
  if (format > 1) {
    int cb = int(texelFetch(blue, at / 2, 0).r) - 128;
    int cr = int(texelFetch(red, at / 2, 0).r) - 128;
    int y = luma.y * (sampled.r - luma.x) + 32768;
    rgb = (y + ivec3(differences.x * cr, differences.y * cb + differences.z * cr, differences.w * cb)) >> 16;
  }
  colour = vec4(vec3(clamp(rgb, 0, 255)) / 255.0, 1.0);
}`;

// Names of renderers that are no graphics card but programs on the processor. There WebGL2 takes longer than a 2D canvas.
const SOFTWARE_RENDERERS = /swiftshader|llvmpipe|softpipe|basic render|software/i;

// Returns a painter for a canvas. It uses WebGL2 if a graphics card draws it, or, with a `renderer` of "webgl", wherever there is
// one. Otherwise, and with "2d", it uses a 2D canvas. Set its `exports` before the first picture.
export function of(canvas, renderer) {
  const options = { alpha: false, antialias: false, depth: false, desynchronized: true };
  const isFlat = renderer === '2d' || (renderer !== 'webgl' && !isAccelerated());
  const gl = isFlat ? null : canvas.getContext('webgl2', options);
  return gl ? new WebGl(gl) : new Flat(canvas);
}

// Returns whether a graphics card draws WebGL2. Asks another canvas, because one that has WebGL2 can have nothing else.
// `failIfMajorPerformanceCaveat` does not help: Chromium makes a context without a graphics card all the same.
function isAccelerated() {
  const gl = new OffscreenCanvas(1, 1).getContext('webgl2');
  const info = gl?.getExtension('WEBGL_debug_renderer_info');
  const name = gl?.getParameter(info ? info.UNMASKED_RENDERER_WEBGL : gl.RENDERER);
  gl?.getExtension('WEBGL_lose_context')?.loseContext();
  return gl != null && !SOFTWARE_RENDERERS.test(name);
}

class WebGl {
  constructor(gl) {
    Object.assign(this, { gl, renderer: 'webgl' });
    this.build();
    gl.canvas.addEventListener('webglcontextlost', (event) => event.preventDefault());
    gl.canvas.addEventListener('webglcontextrestored', () => this.build());
  }

  build() {
    const { gl } = this;
    const program = gl.createProgram();
    for (const [kind, source] of [[gl.VERTEX_SHADER, VERTEX], [gl.FRAGMENT_SHADER, FRAGMENT]]) {
      const shader = gl.createShader(kind);
      gl.shaderSource(shader, source);
      gl.compileShader(shader);
      gl.attachShader(program, shader);
    }
    gl.linkProgram(program);
    gl.useProgram(program);
    gl.pixelStorei(gl.UNPACK_ALIGNMENT, 1);
    this.at = (name) => gl.getUniformLocation(program, name);
    ['first', 'blue', 'red'].forEach((name, unit) => gl.uniform1i(this.at(name), unit));
    this.shape = '';
    // Drivers finish a program when it is first used, so this uses it before the first picture waits for it.
    this.reshape([[2, 2, 1], [1, 1, 1], [1, 1, 1]], 2, LIMITED);
    this.draw();
    gl.clear(gl.COLOR_BUFFER_BIT);
  }

  // Makes new textures for pictures of another shape.
  reshape(planes, height, format) {
    const { gl } = this;
    this.textures?.forEach((texture) => gl.deleteTexture(texture));
    this.textures = planes.map(([width, height, inner], unit) => {
      const texture = gl.createTexture();
      gl.activeTexture(gl.TEXTURE0 + unit);
      gl.bindTexture(gl.TEXTURE_2D, texture);
      gl.texStorage2D(gl.TEXTURE_2D, 1, inner === 3 ? gl.RGB8UI : gl.R8UI, width, height);
      gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MIN_FILTER, gl.NEAREST);
      gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MAG_FILTER, gl.NEAREST);
      return texture;
    });
    const [black, scale, chroma] = format % 2 ? FACTORS.full : FACTORS.limited;
    const from = format < LIMITED + 2 ? BT601 : BT709;
    gl.uniform1i(this.at('format'), format);
    gl.uniform1i(this.at('height'), height);
    gl.uniform2i(this.at('luma'), black, scale);
    gl.uniform4i(this.at('differences'), ...from.map((factor) => Math.trunc(factor * chroma)));
  }

  upload(address, width, height, format) {
    const { gl } = this;
    const half = [Math.ceil(width / 2), Math.ceil(height / 2), 1];
    const planes = format >= LIMITED ? [[width, height, 1], half, half] : [[width, height, format === GREY ? 1 : 3]];
    const shape = [width, height, format].join();
    if (shape !== this.shape) this.reshape(planes, height, format);
    this.shape = shape;
    for (const [unit, [columns, rows, inner]] of planes.entries()) {
      const samples = new Uint8Array(this.exports.memory.buffer, address, columns * rows * inner);
      gl.activeTexture(gl.TEXTURE0 + unit);
      const layout = inner === 3 ? gl.RGB_INTEGER : gl.RED_INTEGER;
      gl.texSubImage2D(gl.TEXTURE_2D, 0, 0, 0, columns, rows, layout, gl.UNSIGNED_BYTE, samples);
      address += samples.length;
    }
  }

  draw() {
    const { gl } = this;
    gl.viewport(0, 0, gl.drawingBufferWidth, gl.drawingBufferHeight);
    gl.drawArrays(gl.TRIANGLES, 0, 3);
  }

  // Returns the pixels of the canvas, for tests: red, green, blue, 255.
  pixels() {
    const { gl } = this;
    const [width, height] = [gl.drawingBufferWidth, gl.drawingBufferHeight];
    const [turned, pixels] = [new Uint8Array(4 * width * height), new Uint8Array(4 * width * height)];
    gl.readPixels(0, 0, width, height, gl.RGBA, gl.UNSIGNED_BYTE, turned);
    for (let row = 0; row < height; row++)
      pixels.set(turned.subarray(4 * width * (height - 1 - row), 4 * width * (height - row)), 4 * width * row);
    return pixels;
  }
}

class Flat {
  constructor(canvas) {
    Object.assign(this, { canvas, renderer: '2d', context: canvas.getContext('2d', { alpha: false }) });
  }

  upload(_address, width, height) {
    const address = this.exports.rgba();
    if (address === 0) return;
    const pixels = new Uint8ClampedArray(this.exports.memory.buffer, address, 4 * width * height);
    this.context.putImageData(new ImageData(pixels, width, height), 0, 0);
  }

  draw() {}

  pixels() {
    const { width, height } = this.canvas;
    return new Uint8Array(this.context.getImageData(0, 0, width, height).data.buffer);
  }
}
