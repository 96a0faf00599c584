// The C# compiler as a program: the package that has its assemblies brings no program of its own.
// The arguments are those of csc.

using System;
using System.Collections.Immutable;
using System.IO;
using System.Linq;
using System.Text;
using Microsoft.CodeAnalysis;
using Microsoft.CodeAnalysis.CSharp;
using Microsoft.CodeAnalysis.Text;

internal static class Driver
{
    private static int Main(string[] words)
    {
        var folder = Directory.GetCurrentDirectory();
        var arguments = CSharpCommandLineParser.Default.Parse(words, folder, sdkDirectory: null);
        var trees = arguments.SourceFiles.Select(file => Parse(file.Path, arguments.ParseOptions));
        var references = arguments.MetadataReferences.Select(
            reference => MetadataReference.CreateFromFile(reference.Reference, reference.Properties));
        var sources = new SourceFileResolver(ImmutableArray<string>.Empty, folder, arguments.PathMap);
        var compilation = CSharpCompilation.Create(
            Path.GetFileNameWithoutExtension(arguments.OutputFileName),
            trees,
            references,
            arguments.CompilationOptions.WithSourceReferenceResolver(sources));

        var output = Path.Combine(arguments.OutputDirectory, arguments.OutputFileName);
        var symbols = Path.ChangeExtension(output, ".pdb");
        using var assemblyFile = File.Create(output);
        using var symbolFile = File.Create(symbols);
        var result = compilation.Emit(
            assemblyFile, symbolFile, options: arguments.EmitOptions.WithPdbFilePath(symbols));
        var diagnostics = arguments.Errors.Concat(result.Diagnostics)
            .Where(diagnostic => diagnostic.Severity == DiagnosticSeverity.Error)
            .ToList();
        diagnostics.ForEach(diagnostic => Console.Out.WriteLine(diagnostic));
        return result.Success && diagnostics.Count == 0 ? 0 : 1;
    }

    private static SyntaxTree Parse(string path, CSharpParseOptions options)
    {
        using var file = File.OpenRead(path);
        return CSharpSyntaxTree.ParseText(SourceText.From(file, Encoding.UTF8), options, path);
    }
}
